/** Size of the cells of the heat map. Pure functions. */

const LARGEST = 24;
const SMALLEST = 10;

/** Return the largest cell size in pixels with which the block of the node with the most cells fits into the height. */
export function cellSize(width: number, maxCells: number, height: number): number {
  for (let size = LARGEST; size > SMALLEST; size -= 1) {
    const perRow = Math.max(1, Math.floor(width / size));
    if (Math.ceil(maxCells / perRow) * size <= height) return size;
  }
  return SMALLEST;
}
