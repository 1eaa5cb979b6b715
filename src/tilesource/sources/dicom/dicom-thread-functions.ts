import { readDicomHeader, type DicomHeader } from './dicom-header.js';
import { headerToJson, readHeaderValue } from './header-json.js';

/** Functions for DICOM that run in the decoding threads. */
export const dicomThreadFunctions = {
  /** Reads the header of a DICOM file, which may describe 100,000 frames; `null` if the header is longer than these bytes. */
  dicomFacts({ bytes, isWhole }: { bytes: Uint8Array; isWhole: boolean }): DicomHeader | null {
    return readDicomHeader(bytes, isWhole);
  },

  /** Converts the attributes of a DICOM file to JSON, or reads the long value at `path`. */
  dicomHeader(task: { bytes: Uint8Array; bulkRoot: string } | { bytes: Uint8Array; path: readonly string[] }) {
    return 'path' in task ? readHeaderValue(task.bytes, task.path) : headerToJson(task.bytes, task.bulkRoot);
  },
};
