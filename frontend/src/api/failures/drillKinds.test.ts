import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SECONDS_MAX, SECONDS_MIN } from './drillKinds';

it('permits the durations that the API permits', () => {
  const { schemas } = JSON.parse(readFileSync('../docs/openapi.json', 'utf8')).components;
  for (const name of ['DrillRequest', 'ZoneDrillRequest', 'PlannedDrill']) {
    const { minimum, maximum } = schemas[name].properties.seconds;
    expect([minimum, maximum]).toEqual([SECONDS_MIN, SECONDS_MAX]);
  }
});
