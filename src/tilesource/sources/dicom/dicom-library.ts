import { data, log } from 'dcmjs';

// The library and its parts write to the console about values that they repair.
for (const logger of [log, ...Object.values(log.getLoggers())]) logger.setLevel('silent');

/** The parts of dcmjs that are used. The bundle contains only these, because they are imported by name. */
export const { DicomMessage, DicomMetaDictionary, WriteBufferStream } = data;
