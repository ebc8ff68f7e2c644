/** List of names and values; unknown values are shown as a dash. */
import { Fragment, type ReactNode } from 'react';
import { Dash } from './Dash';
import classes from './ui.module.css';

export type Fact = readonly [name: string, value: ReactNode];

export function Facts({ items }: { items: readonly Fact[] }) {
  return (
    <dl className={classes.facts}>
      {items.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd className="num">
            {value === undefined || value === '' ? <Dash reason="Unknown" /> : value}
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}
