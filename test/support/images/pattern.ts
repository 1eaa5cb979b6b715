/** Interleaved 8-bit samples of a smooth picture with some edges, different in every band. */
export function pattern(width: number, height: number, bands: number): Buffer {
  const data = Buffer.alloc(width * height * bands);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let band = 0; band < bands; band++) {
        const block = ((x >> 5) + (y >> 4) * (band + 1)) & 1 ? 60 : 0;
        data[at++] = (x * (band + 1) * 0.3 + y * 0.4 + block) & 255;
      }
    }
  }
  return data;
}
