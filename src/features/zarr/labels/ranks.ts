import { sortByDigits } from '../../../tilesource/style/sort-by-digits.js';
import type { ElementStore, StoredElements } from '../../annotations/elements/element-store.js';

/** Converts the order number of an element to its index among the elements of its annotation. Order numbers have gaps. */
export interface Ranks {
  rankOf(order: number): number;
}

/** Reads the order numbers of all elements of an annotation. @returns the ranks of these numbers. */
export async function readRanks(store: Pick<ElementStore, 'loadPackMarks'>, elements: StoredElements): Promise<Ranks> {
  const orders = new Float64Array(elements.count);
  let orderCount = 0;
  for await (const marks of store.loadPackMarks(elements)) {
    orders.set(marks.orders.subarray(0, orders.length - orderCount), orderCount);
    orderCount += marks.orders.length;
  }
  const sortedOrders = await sortByDigits(orders);
  return {
    rankOf(order) {
      let low = 0;
      for (let high = sortedOrders.length; low < high;) {
        const middle = (low + high) >>> 1;
        if (sortedOrders[middle]! < order) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
}
