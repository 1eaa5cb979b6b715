import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorReplies, LargeImageError, LevelDeniedError, type ErrorCode } from '../../../src/errors.js';
import { describeAsOpenApi3, describeAsSwagger2 } from '../../../src/http/describe/openapi.js';
import { errorReply } from '../../../src/http/serving/respond.js';

const codes = Object.keys(errorReplies) as ErrorCode[];
const info = { title: 'Test', version: '1', brand: 'large_image', headerName: 'Girder-Token' };

describe('error codes', () => {
  it.each(codes)('include %s, which is sent in the body and the header', (code) => {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    const reply = errorReply(new LargeImageError(code, 'A sentence.', { details: { field: 'name' } }), { anonymous: false });
    const { status, type } = errorReplies[code];
    expect(reply.status).toBe(status);
    expect(reply.headers['Large-Image-Error']).toBe(code);
    expect(reply.content).toEqual({ kind: 'json', value: { message: 'A sentence.', type, code, field: 'name' } });
  });

  it('are sent in both with the level of a missing permission', () => {
    const reply = errorReply(new LevelDeniedError(1, 'item 1', null), { anonymous: true });
    expect([reply.status, reply.headers['Large-Image-Error']]).toEqual([401, 'access-denied; level=1']);
    expect(reply.content).toMatchObject({ value: { code: 'access-denied', level: 1 } });
  });

  it('are all in the descriptions of the API', () => {
    const described = [describeAsOpenApi3([], info), describeAsSwagger2([], info)].map((document) => JSON.stringify(document));
    for (const text of described) expect(text).toContain(JSON.stringify(codes));
  });

  it('are documented, each with its status', () => {
    const text = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const [, section = ''] = /\n## Errors\n(.*?)\n## /s.exec(text) ?? [];
    const rows = [...section.matchAll(/^\| `([a-z-]+)` \| (\d+) \|/gm)].map(([, code, status]) => [code, Number(status)]);
    expect(rows).toEqual(codes.map((code) => [code, errorReplies[code].status]));
  });
});
