/**
 * How far the console's clock is ahead of ours, so that the axis is right on a machine with a
 * wrong clock. Travel time makes it look smaller than it is, so the largest look is the best one.
 */

/** Most clocks are synchronised: a small difference is travel time, not skew. */
const SAME_CLOCK_MS = 2_000;

export class ClockSkew {
  private best = 0;

  /** A new connection: clocks may have been set since the last one. */
  greeted(theirs: number, ours: number): void {
    this.best = theirs - ours;
  }

  sampled(theirs: number, ours: number): void {
    this.best = Math.max(this.best, theirs - ours);
  }

  get offset(): number {
    return Math.abs(this.best) < SAME_CLOCK_MS ? 0 : this.best;
  }
}
