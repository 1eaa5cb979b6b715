/** Options of an `LRUCache` that limit its entries. With the option `max` instead, it would allocate memory for all entries at once. */
export const limitEntries = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
