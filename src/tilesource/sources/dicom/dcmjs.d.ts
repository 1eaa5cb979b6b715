declare module 'dcmjs' {
  interface Entry {
    tag: string;
    vr: string;
    vm: string;
    name: string;
  }
  interface Element {
    vr: string;
    Value?: unknown[];
  }
  type Dataset = Record<string, Element>;
  class WriteBufferStream {
    constructor(size: number, littleEndian?: boolean);
    getBuffer(start?: number, end?: number): ArrayBuffer;
    readonly size: number;
  }
  export const data: {
    DicomMetaDictionary: { nameMap: Readonly<Record<string, Entry>>; dictionary: Readonly<Record<string, Entry>> };
    DicomMessage: {
      write(dataset: Dataset, stream: WriteBufferStream, syntax: string, options: object): number;
      readFile(bytes: ArrayBuffer, options?: object): { meta: Dataset; dict: Dataset };
    };
    WriteBufferStream: typeof WriteBufferStream;
  };
  interface Logger {
    setLevel(level: string): void;
  }
  export const log: Logger & { getLoggers(): Record<string, Logger> };
}
