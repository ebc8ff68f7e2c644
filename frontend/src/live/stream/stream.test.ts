import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type EventSourceLike, IDLE_TIMEOUT_MS, LiveStream, type StreamState } from './stream';

class FakeSource implements EventSourceLike {
  onerror: ((event: Event) => void) | null = null;
  closed = false;
  private readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();

  constructor(readonly url: string) {}

  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(name, listener);
  }

  close(): void {
    this.closed = true;
  }

  emit(name: string, data: unknown, id = ''): void {
    const event = { data: JSON.stringify(data), lastEventId: id } as MessageEvent<string>;
    this.listeners.get(name)?.(event);
  }

  fail(): void {
    this.onerror?.({} as Event);
  }
}

function setUp() {
  const sources: FakeSource[] = [];
  const states: StreamState[] = [];
  const frames: string[] = [];
  const stream = new LiveStream({
    open: (url) => {
      const source = new FakeSource(url);
      sources.push(source);
      return source;
    },
    onFrame: (name) => frames.push(name),
    onState: (state) => states.push(state),
    history: () => 900,
  });
  const current = () => {
    const source = sources.at(-1);
    if (!source) throw new Error('no stream was opened');
    return source;
  };
  const sendHello = (...topics: string[]) => {
    current().emit('hello', { server_time: Date.now() });
    for (const topic of topics) current().emit('history', { topic }, '1000');
  };
  const query = () => new URL(current().url, 'http://x').searchParams;
  return { stream, sources, states, frames, current, sendHello, query };
}

describe('LiveStream', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('requests history first and is live after hello', () => {
    const { stream, states, query, sendHello, frames } = setUp();
    stream.follow(['nodes', 'bdbs']);
    expect(query().get('topics')).toBe('bdbs,nodes');
    expect(query().get('history')).toBe('900');
    sendHello('bdbs');
    expect(states.map(({ phase }) => phase)).toEqual(['connecting', 'live']);
    expect(frames).toEqual(['hello', 'history']);
  });

  it('resumes from the newest second after an error, with increasing delays', () => {
    const { stream, states, sources, current, sendHello, query } = setUp();
    stream.follow(['bdbs']);
    sendHello('bdbs');
    current().emit('sample', { topic: 'bdbs', t: 1005 }, '1005');
    current().fail();
    expect(sources[0]?.closed).toBe(true);
    expect(states.at(-1)).toMatchObject({ phase: 'lost', attempt: 1 });
    vi.advanceTimersByTime(500);
    expect(sources).toHaveLength(2);
    expect(query().get('since')).toBe('bdbs@1005');
    current().fail();
    expect(states.at(-1)).toMatchObject({ phase: 'lost', attempt: 2 });
    vi.advanceTimersByTime(999);
    expect(sources).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(sources).toHaveLength(3);
    sendHello();
    expect(states.at(-1)).toEqual({ phase: 'live' });
    current().fail();
    expect(states.at(-1)).toMatchObject({ attempt: 1 });
  });

  it('treats ten seconds without frames as a lost stream, and accepts heartbeats as activity', () => {
    const { stream, states, current, sendHello } = setUp();
    stream.follow(['bdbs']);
    sendHello('bdbs');
    vi.advanceTimersByTime(IDLE_TIMEOUT_MS - 1);
    current().emit('beat', {});
    vi.advanceTimersByTime(IDLE_TIMEOUT_MS - 1);
    expect(states.at(-1)).toEqual({ phase: 'live' });
    vi.advanceTimersByTime(1);
    expect(states.at(-1)).toMatchObject({ phase: 'lost' });
  });

  it('times out a connection without a hello frame', () => {
    const { stream, states } = setUp();
    stream.follow(['bdbs']);
    vi.advanceTimersByTime(IDLE_TIMEOUT_MS);
    expect(states.at(-1)).toMatchObject({ phase: 'lost', attempt: 1 });
  });

  it('requests the history of new topics only', () => {
    const { stream, sources, current, sendHello, query } = setUp();
    stream.follow(['bdbs']);
    sendHello('bdbs');
    stream.follow(['bdbs', 'shards:1']);
    expect(sources[0]?.closed).toBe(true);
    expect(query().get('history')).toBe('900');
    expect(query().get('since')).toBe('bdbs@1000');
    sendHello('shards:1');
    current().emit('sample', { topic: 'bdbs' }, '1007');
    stream.follow(['bdbs']);
    expect(query().get('since')).toBe('bdbs@1007');
    stream.follow(['bdbs']);
    expect(sources).toHaveLength(3);
  });

  it('requests the history of a topic again after it was unsubscribed', () => {
    const { stream, sendHello, query } = setUp();
    stream.follow(['bdbs', 'shards:1']);
    sendHello('bdbs', 'shards:1');
    stream.follow(['bdbs']);
    sendHello();
    stream.follow(['bdbs', 'shards:1']);
    expect(query().get('history')).toBe('900');
  });

  it('ignores frames and errors of a closed connection', () => {
    const { stream, sources, states, frames } = setUp();
    stream.follow(['bdbs']);
    stream.follow(['nodes']);
    sources[0]?.emit('hello', {});
    sources[0]?.fail();
    expect(frames).toEqual([]);
    expect(states.at(-1)).toEqual({ phase: 'connecting' });
  });

  it('retries immediately on request, and does not reconnect after stop', () => {
    const { stream, sources, current, states } = setUp();
    stream.follow(['bdbs']);
    current().fail();
    stream.retryNow();
    expect(sources).toHaveLength(2);
    stream.stop();
    vi.advanceTimersByTime(60_000);
    expect(sources).toHaveLength(2);
    expect(states.at(-1)).toEqual({ phase: 'idle' });
  });
});
