/** Group of fields with a legend. */
import type { ReactNode } from 'react';
import classes from './forms.module.css';

interface Props {
  legend: string;
  help?: string;
  children: ReactNode;
}

export function FieldGroup({ legend, help, children }: Props) {
  return (
    <fieldset className={classes.group}>
      <legend>{legend}</legend>
      {help && <span className={classes.help}>{help}</span>}
      {children}
    </fieldset>
  );
}
