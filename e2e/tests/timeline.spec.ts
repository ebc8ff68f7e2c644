/** Timeline: one time axis for charts and lanes, and a lane for seconds without samples. */
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { TimelinePage } from '../pages/timeline.ts';

test('charts and lanes share one time axis, and missing samples have a lane', {
  tag: '@slow',
}, async ({ page }) => {
  const timeline = new TimelinePage(page);
  // The cluster did not exist an hour ago.
  await page.goto('/activity/timeline?range=3600');
  const gap = timeline.marks(/^No samples for/).first();
  await expect(gap).toBeVisible();
  const url = page.url();
  await gap.click();
  expect(page.url()).toBe(url);

  // The plots and the lanes have the same horizontal extent, so that the grid lines match.
  const plot = await page.locator('.u-over').first().boundingBox();
  const track = await page.locator('[data-track]').first().boundingBox();
  expect(Math.abs((plot?.x ?? 0) - (track?.x ?? 0))).toBeLessThanOrEqual(2);
  expect(Math.abs((plot?.width ?? 0) - (track?.width ?? 0))).toBeLessThanOrEqual(4);
  await examine(page, 'timeline-gap');
});
