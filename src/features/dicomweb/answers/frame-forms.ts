import { matchesType, throwNotAcceptable, type AcceptedType } from '../format/accept.js';
import { transferSyntaxes } from '../format/dataset.js';

/** Media types of frames by their transfer syntaxes (PS3.18 8.7.3). */
const mediaTypeBySyntax: Readonly<Record<string, string>> = {
  [transferSyntaxes.implicitLittle]: 'application/octet-stream',
  [transferSyntaxes.explicitLittle]: 'application/octet-stream',
  [transferSyntaxes.explicitBig]: 'application/octet-stream',
  [transferSyntaxes.rle]: 'image/x-dicom-rle',
  '1.2.840.10008.1.2.4.50': 'image/jpeg',
  '1.2.840.10008.1.2.4.51': 'image/jpeg',
  '1.2.840.10008.1.2.4.57': 'image/jpeg',
  '1.2.840.10008.1.2.4.70': 'image/jpeg',
  '1.2.840.10008.1.2.4.80': 'image/jls',
  '1.2.840.10008.1.2.4.81': 'image/jls',
  '1.2.840.10008.1.2.4.90': 'image/jp2',
  '1.2.840.10008.1.2.4.91': 'image/jp2',
  '1.2.840.10008.1.2.4.92': 'image/jpx',
  '1.2.840.10008.1.2.4.93': 'image/jpx',
  '1.2.840.10008.1.2.4.201': 'image/jphc',
  '1.2.840.10008.1.2.4.202': 'image/jphc',
  '1.2.840.10008.1.2.4.203': 'image/jphc',
};

/** The media type of frames in a transfer syntax. */
function frameMediaType(syntax: string): string {
  return mediaTypeBySyntax[syntax] ?? 'application/octet-stream';
}

/** The form in which frames are sent. */
export interface FrameForm {
  syntax: string;
  /** Media type of each frame. */
  type: string;
  /** Value of the parameter `type` in the header of a multipart response. */
  typeParameter: string;
  isMultipart: boolean;
}

/**
 * The available form of frames that a client prefers.
 *
 * @param syntaxes the available transfer syntaxes; the first that the client accepts is used.
 * @param isSingle whether a single frame is requested.
 * @throws LargeImageError `not-acceptable`
 */
export function chooseFrameForm(
  acceptedTypes: readonly AcceptedType[],
  syntaxes: readonly string[],
  isSingle: boolean,
): FrameForm {
  for (const { type, isMultipart, syntax: acceptedSyntax } of acceptedTypes) {
    const acceptsAnything = type === '*/*';
    // By the standard, frames are sent as parts. A media type that is not multipart requests a single frame without parts.
    const isSentAsParts = isMultipart || acceptsAnything || type === 'multipart/*';
    if (!isSentAsParts && !isSingle) continue;
    const syntax = syntaxes.find((availableSyntax) => isAccepted(availableSyntax, type, acceptedSyntax));
    if (syntax === undefined) continue;
    const mediaType = frameMediaType(syntax);
    return { syntax, type: mediaType, typeParameter: type.includes('*') ? mediaType : type, isMultipart: isSentAsParts };
  }
  const availableForms = syntaxes.map(
    (syntax) => `multipart/related; type="${frameMediaType(syntax)}"; transfer-syntax=${syntax}`,
  );
  return throwNotAcceptable(isSingle ? 'The frame' : 'Several frames', availableForms);
}

function isAccepted(syntax: string, acceptedType: string, acceptedSyntax: string | null): boolean {
  if (acceptedSyntax !== null && acceptedSyntax !== '*')
    return (
      syntax === acceptedSyntax &&
      (matchesType(acceptedType, frameMediaType(syntax)) || acceptedType === 'application/octet-stream')
    );
  // The client accepts bytes of any syntax, and recognizes them by their content.
  if (acceptedType === 'application/octet-stream' && acceptedSyntax === '*') return true;
  return matchesType(acceptedType, frameMediaType(syntax)) || acceptedType === 'multipart/*';
}
