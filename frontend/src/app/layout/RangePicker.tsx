/** Selection of the time range of all charts: presets, a custom interval, the time zone, and shifting. */
import { ActionIcon, Button, Popover, SegmentedControl, Tooltip } from '@mantine/core';
import {
  IconChevronDown,
  IconChevronLeft,
  IconChevronRight,
  IconZoomReset,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { retentionQuery } from '@/api/metrics/history';
import { formatDateTime, setZone, type Zone } from '@/lib/time';
import { useLive } from '@/live/LiveProvider';
import { useZone } from '@/ui/useZone';
import {
  formatWindow,
  LIVE_RANGES,
  oldestSecond,
  rangeLabel,
  rangeUnavailableReason,
  STORED_RANGES,
} from '../ranges';
import { DEFAULT_RANGE, type FrameSearch, type Range } from '../search';
import { AbsoluteRange } from './AbsoluteRange';
import { usePageAxis } from './PageAxis';
import classes from './RangePicker.module.css';

export function RangePicker() {
  const { range = DEFAULT_RANGE, from, to } = useSearch({ strict: false });
  const [open, setOpen] = useState(false);
  const axis = usePageAxis();
  const zone = useZone();
  const fixed = from !== undefined && to !== undefined;
  const label = fixed ? formatWindow(from, to, zone) : `Last ${rangeLabel(range)}`;
  return (
    <div className={classes.picker}>
      {fixed && (
        <Tooltip label="Reset zoom (or double-click a chart)">
          <ActionIcon variant="light" aria-label="Reset zoom" onClick={() => axis.reset()}>
            <IconZoomReset size={16} />
          </ActionIcon>
        </Tooltip>
      )}
      <Shift part={-0.5} />
      <Popover opened={open} onChange={setOpen} position="bottom-end" shadow="sm" trapFocus>
        <Popover.Target>
          <Button
            variant="default"
            aria-label={`Time range: ${label}`}
            rightSection={<IconChevronDown size={14} />}
            onClick={() => setOpen(!open)}
          >
            {label}
            {zone === 'utc' && ' UTC'}
          </Button>
        </Popover.Target>
        <Popover.Dropdown>
          <Choices onDone={() => setOpen(false)} />
        </Popover.Dropdown>
      </Popover>
      <Shift part={0.5} />
    </div>
  );
}

function Shift({ part }: { part: number }) {
  const axis = usePageAxis();
  const Icon = part < 0 ? IconChevronLeft : IconChevronRight;
  const label = part < 0 ? 'Earlier (left arrow)' : 'Later (right arrow)';
  return (
    <Tooltip label={label}>
      <ActionIcon
        className={classes.shift}
        variant="subtle"
        color="gray"
        aria-label={part < 0 ? 'Earlier' : 'Later'}
        onClick={() => axis.shift(part)}
      >
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

function Choices({ onDone }: { onDone: () => void }) {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const zone = useZone();
  const axis = usePageAxis();
  const live = useLive();
  const oldest = useOldest();
  const selectRange = (change: FrameSearch) => {
    void navigate({ to: '.', search: (now) => ({ ...now, ...change, res: undefined }) });
    onDone();
  };
  const preset = (range: Range) =>
    selectRange({
      range: range === DEFAULT_RANGE ? undefined : range,
      from: undefined,
      to: undefined,
    });
  const current = search.from === undefined ? (search.range ?? DEFAULT_RANGE) : undefined;
  return (
    <div className={classes.choices}>
      <Presets title="Every second" ranges={LIVE_RANGES} current={current} onChoose={preset} />
      <Presets title="Stored" ranges={STORED_RANGES} current={current} onChoose={preset} />
      <AbsoluteRange
        key={zone}
        window={axis.window()}
        zone={zone}
        now={live.now() / 1000}
        onChoose={selectRange}
      />
      <SegmentedControl
        fullWidth
        aria-label="Time zone"
        value={zone}
        onChange={(value) => setZone(value as Zone)}
        data={[
          { value: 'local', label: 'Local time' },
          { value: 'utc', label: 'UTC' },
        ]}
      />
      <p className="dim small">
        {Number.isNaN(oldest)
          ? 'No metrics are stored yet.'
          : `Stored since ${formatDateTime(oldest * 1000, zone)}`}
      </p>
    </div>
  );
}

interface PresetsProps {
  title: string;
  ranges: readonly Range[];
  current: Range | undefined;
  onChoose: (range: Range) => void;
}

function Presets({ title, ranges, current, onChoose }: PresetsProps) {
  const live = useLive();
  const oldest = useOldest();
  return (
    <fieldset className={classes.presets}>
      <legend>{title}</legend>
      {ranges.map((range) => {
        const reason = rangeUnavailableReason(range, oldest, live.now() / 1000);
        return (
          <Tooltip key={range} label={reason} disabled={!reason}>
            <Button
              variant={range === current ? 'light' : 'default'}
              aria-pressed={range === current}
              data-disabled={reason ? true : undefined}
              aria-disabled={reason !== undefined}
              title={reason}
              onClick={() => !reason && onChoose(range)}
            >
              {rangeLabel(range)}
            </Button>
          </Tooltip>
        );
      })}
    </fieldset>
  );
}

function useOldest(): number {
  const live = useLive();
  const { data } = useQuery(retentionQuery);
  return oldestSecond(data?.ranges ?? [], live.now() / 1000);
}
