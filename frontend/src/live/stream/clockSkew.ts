/**
 * Estimate of the difference between the console's clock and the browser's clock, so that the time
 * axis is correct on a machine with a wrong clock. Network latency reduces the observed difference,
 * so the largest observation is the best estimate.
 */

/** Differences below this limit are network latency, because most clocks are synchronized. */
const SAME_CLOCK_MS = 2_000;

export class ClockSkew {
  private best = 0;

  /** Start a new estimate for a new connection, because clocks may have been set. */
  onHello(consoleMs: number, browserMs: number): void {
    this.best = consoleMs - browserMs;
  }

  onSample(consoleMs: number, browserMs: number): void {
    this.best = Math.max(this.best, consoleMs - browserMs);
  }

  get offset(): number {
    return Math.abs(this.best) < SAME_CLOCK_MS ? 0 : this.best;
  }
}
