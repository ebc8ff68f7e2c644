// @dom
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { T0 } from '../outageEvents.fixture';
import { IncidentFigures } from './IncidentView';
import { incidentWithEventsFixture } from './incident.fixture';

vi.mock('@tanstack/react-router', () => ({ Link: () => null }));

describe('IncidentFigures', () => {
  it('selects the events of the lanes that a figure is computed from', () => {
    const onSelect = vi.fn();
    const incident = incidentWithEventsFixture();
    render(<IncidentFigures incident={incident} now={T0} onSelect={onSelect} />);
    const buttons = screen.getAllByRole('button');
    expect(buttons).toHaveLength(4);
    fireEvent.click(screen.getByRole('button', { name: /Promoted after detection.*2 of 3/ }));
    expect(onSelect).toHaveBeenCalledWith('11,12');
    const shown = new Set(incident.events.map(({ uid }) => uid));
    for (const { events } of incident.figures)
      expect(events.every((uid) => shown.has(uid))).toBe(true);
  });
});
