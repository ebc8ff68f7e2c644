/**
 * Continues the page on another console when its own no longer responds. While connected, it renews a token for the session, and the
 * list of consoles. Behind a load balancer, whose origin is none of the consoles', the page only retries its own origin.
 */
import type { Answer } from '@/api/access/handover';
import type { Handover, HandoverConsole } from '@/api/types';
import { createStore } from '@/lib/store';

export interface SwitchOptions {
  /** Origin of this page. */
  origin: string;
  fetchHandover: () => Promise<Handover>;
  check: (origin: string) => Promise<Answer | null>;
  /** Whether leaving the page could lose input of the user. */
  hasInput: () => boolean;
  /** Open the current page on another console. */
  leave: (target: HandoverConsole, lost: HandoverConsole, token: string | null) => void;
}

export type SwitchState =
  | { phase: 'none' }
  /** Another console responds. `asking`: the user decides; `leaving`: the page continues there. */
  | { phase: 'asking' | 'leaving'; lost: HandoverConsole; target: HandoverConsole };

const NONE: SwitchState = { phase: 'none' };
/** The first request waits for those of the page. */
const FIRST_MS = 2_000;
export const RENEW_MS = 120_000;
/** Pause between two checks of the own console, in which it may restart. */
export const CONFIRM_MS = 500;
/** Time in which the user can read where the page continues. */
export const NOTICE_MS = 1_500;

export class ConsoleSwitch {
  readonly state = createStore<SwitchState>(NONE);
  readonly consoles = createStore<readonly HandoverConsole[]>([]);
  private token: { value: string; expiresAt: number } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Incremented when the own console responds again, which ends a search. */
  private generation = 0;
  private isSearching = false;

  constructor(private readonly options: SwitchOptions) {}

  start(): void {
    this.timer = setTimeout(() => void this.renew(), FIRST_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.onConnected();
    this.token = null;
    this.consoles.set([]);
  }

  onConnected(): void {
    this.generation += 1;
    this.state.set(NONE);
  }

  /** Look for another console, unless the own one responds. Called at each failed attempt to connect. */
  async onLost(): Promise<void> {
    if (this.isSearching || this.state.get().phase !== 'none') return;
    const own = this.consoles.get().find(({ origin }) => origin === this.options.origin);
    if (!own) return;
    this.isSearching = true;
    try {
      await this.search(own, this.generation);
    } finally {
      this.isSearching = false;
    }
  }

  /** Continue on the other console, as the user has decided. */
  async continueNow(): Promise<void> {
    const state = this.state.get();
    if (state.phase !== 'asking') return;
    const answer = await this.options.check(state.target.origin);
    if (this.state.get() !== state) return;
    if (answer?.ready) this.leave(state);
    else this.state.set(NONE);
  }

  private async search(own: HandoverConsole, generation: number): Promise<void> {
    const { check, hasInput, origin } = this.options;
    if (await check(origin)) return;
    await pause(CONFIRM_MS);
    if (generation !== this.generation || (await check(origin))) return;
    // The host name of a stopped console can have another owner, who must not get the token.
    const others = this.consoles.get().filter((each) => each.running && each.origin !== origin);
    const answers = await Promise.all(others.map((each) => check(each.origin)));
    if (generation !== this.generation) return;
    const ready = others.filter((_, index) => answers[index]?.ready);
    const target = ready.find((each) => answers[others.indexOf(each)]?.leads) ?? ready[0];
    if (!target) return;
    if (!hasInput()) {
      this.state.set({ phase: 'leaving', lost: own, target });
      await pause(NOTICE_MS);
      if (generation !== this.generation) return;
    }
    if (hasInput()) this.state.set({ phase: 'asking', lost: own, target });
    else this.leave({ phase: 'leaving', lost: own, target });
  }

  private leave(state: SwitchState): void {
    if (state.phase === 'none') return;
    this.state.set({ ...state, phase: 'leaving' });
    const isValid = this.token !== null && this.token.expiresAt > Date.now();
    this.options.leave(state.target, state.lost, isValid ? (this.token?.value ?? null) : null);
  }

  private async renew(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.renew(), RENEW_MS);
    try {
      const { token, seconds, consoles } = await this.options.fetchHandover();
      this.consoles.set(consoles);
      if (token) this.token = { value: token, expiresAt: Date.now() + seconds * 1000 };
    } catch {
      // The previous token is valid for two more periods.
    }
  }
}

/** Return the name of a console, with its port if several consoles run on the same host. */
export function consoleName(
  console: HandoverConsole,
  consoles: readonly HandoverConsole[],
): string {
  const isUnique = consoles.every(({ uid, host }) => uid === console.uid || host !== console.host);
  return isUnique ? console.host : new URL(console.origin).host;
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
