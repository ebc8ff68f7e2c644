/** Frames of the page's event stream, as received by the browser. */
import type { Page } from '@playwright/test';

export interface Frame {
  name: string;
  /** Epoch milliseconds. */
  received: number;
  data: { topic?: string; t?: number };
}

/** Return a list to which received frames are appended. The page is not affected. */
export async function watchStream(page: Page): Promise<Frame[]> {
  const frames: Frame[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Network.eventSourceMessageReceived', ({ eventName, data }) => {
    frames.push({ name: eventName, received: Date.now(), data: JSON.parse(data || '{}') });
  });
  await session.send('Network.enable');
  return frames;
}
