import { integer, oneOf, withDefault } from '../../larger-host.js';

/** Parameters of downloads of one file. */
export const downloadQuery = {
  offset: withDefault(integer({ minimum: 0, description: 'First byte.' }), 0),
  endByte: integer({ minimum: 0, description: 'Byte after the last one.' }),
  contentDisposition: withDefault(
    oneOf(['inline', 'attachment'], { description: 'Whether browsers show the file or save it.' }),
    'attachment',
  ),
};
