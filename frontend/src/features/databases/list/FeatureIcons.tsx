/** Features of a database as icons with tooltips, which need little space. */
import { Tooltip } from '@mantine/core';
import {
  IconBolt,
  IconCopy,
  IconDeviceFloppy,
  IconLock,
  IconTopologyStar3,
} from '@tabler/icons-react';
import type { Bdb } from '@/api/types';
import { Dash } from '@/ui/Dash';
import classes from '../databases.module.css';
import { type Feature, features } from './databaseFeatures';

const ICONS: Record<Feature, typeof IconBolt> = {
  Flash: IconBolt,
  Replication: IconCopy,
  'Cluster API': IconTopologyStar3,
  Persistence: IconDeviceFloppy,
  TLS: IconLock,
};

export function FeatureIcons({ bdb }: { bdb: Bdb }) {
  const found = features(bdb);
  if (!found.length) return <Dash reason="No optional features" />;
  return (
    <ul className={classes.features} aria-label="Features">
      {found.map((feature) => {
        const Icon = ICONS[feature];
        return (
          <li key={feature}>
            <Tooltip label={feature}>
              <span role="img" aria-label={feature}>
                <Icon size={16} stroke={1.6} aria-hidden />
              </span>
            </Tooltip>
          </li>
        );
      })}
    </ul>
  );
}
