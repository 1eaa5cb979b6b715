/** Options of an `LRUCache` of so many entries that begins small: given as its `max`, memory for all of them is taken at once. */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
