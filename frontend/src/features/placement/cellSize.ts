/** How large the cells of the heat map can be. Pure. */

const LARGEST = 24;
const SMALLEST = 10;

/** The largest cell with which the fullest node's block stays within the height. */
export function cellSize(width: number, most: number, height: number): number {
  for (let size = LARGEST; size > SMALLEST; size -= 1) {
    const perRow = Math.max(1, Math.floor(width / size));
    if (Math.ceil(most / perRow) * size <= height) return size;
  }
  return SMALLEST;
}
