/** Converts full-range YCbCr to RGB in place, at any depth, as ITU-T T.871 defines it. */
export function yCbCrToRgb(data: Uint8Array | Uint16Array | Uint32Array, bits: number): void {
  const middle = 2 ** (bits - 1);
  const max = 2 ** bits - 1;
  const clamp = (value: number): number => Math.max(0, Math.min(max, Math.round(value)));
  for (let i = 0; i + 2 < data.length; i += 3) {
    const y = data[i] ?? 0;
    const cb = (data[i + 1] ?? 0) - middle;
    const cr = (data[i + 2] ?? 0) - middle;
    data[i] = clamp(y + 1.402 * cr);
    data[i + 1] = clamp(y - 0.344_136 * cb - 0.714_136 * cr);
    data[i + 2] = clamp(y + 1.772 * cb);
  }
}
