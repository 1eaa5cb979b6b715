/** The body of a response. An error has only the members that it also has in the established implementation. */
export function recordedBody<Body>({ status, body }: { status: number; body: Body }): Body {
  if (status < 400 || typeof body !== 'object' || body === null) return body;
  const { code: _code, level: _level, ...recordedMembers } = body as Record<string, unknown>;
  return recordedMembers as Body;
}
