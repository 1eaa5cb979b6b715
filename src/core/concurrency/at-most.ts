/** Options of an `LRUCache` with a limit on its entries that grows as needed. With the option `max` it would allocate memory for all entries at once. */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
