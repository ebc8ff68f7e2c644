/** The frames of the page's own event stream, as the browser received them. */
import type { Page } from '@playwright/test';

export interface Frame {
  name: string;
  /** Milliseconds of this machine's clock. */
  received: number;
  data: { topic?: string; t?: number };
}

/** Grows from now on; the page itself notices nothing. */
export async function watchStream(page: Page): Promise<Frame[]> {
  const frames: Frame[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Network.eventSourceMessageReceived', ({ eventName, data }) => {
    frames.push({ name: eventName, received: Date.now(), data: JSON.parse(data || '{}') });
  });
  await session.send('Network.enable');
  return frames;
}
