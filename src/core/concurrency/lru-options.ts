/** Options that limit the entries of an `LRUCache`. With `max` instead, the cache would allocate memory for all entries at once. */
export const limitEntries = (maxEntries: number) => ({ maxSize: maxEntries, sizeCalculation: () => 1 });
