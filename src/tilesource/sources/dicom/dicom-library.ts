import { data, log } from 'dcmjs';

// The library warns on the console of values that it repairs.
log.setLevel('silent');

/** The parts of dcmjs that are used. The bundle contains only these, because they are imported by name. */
export const { DicomMessage, DicomMetaDictionary, WriteBufferStream } = data;
