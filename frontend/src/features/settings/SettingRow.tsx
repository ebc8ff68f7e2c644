/** Row of one setting of the cluster: label, help text, field, and default. */
import { Button, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import type { SettingSchema, SettingValue } from '@/api/cluster/policy';
import { formatSetting, type SettingDeclaration, settingError } from './policies';
import classes from './settings.module.css';

/** Id of the form that saves all settings of the cluster. Its fields are in several groups of the page. */
export const POLICY_FORM = 'policy-form';

interface RowProps {
  declaration: SettingDeclaration;
  rule: SettingSchema;
  value: SettingValue;
  may: boolean;
  onChange: (value: SettingValue) => void;
}

/** Return whether to show the formatted value next to the field, because the raw number is hard to read. */
const needsFormattedValue = ({ unit, zero }: SettingDeclaration, value: SettingValue): boolean =>
  (value === 0 && zero !== undefined) ||
  ((unit === 'seconds' || unit === 'minutes' || unit === 'bytes') && Number.isFinite(value));

const SUFFIX = { seconds: ' s', minutes: ' min', days: ' days', bytes: ' bytes', none: '' };

export function SettingRow({ declaration, rule, value, may, onChange }: RowProps) {
  const isDefault = value === rule.default;
  const id = `rule-${declaration.name}`;
  const common = { id, form: POLICY_FORM, disabled: !may, 'aria-describedby': `${id}-help` };
  return (
    <div className={classes.rule}>
      <div>
        <label htmlFor={id}>{declaration.label}</label>
        <div id={`${id}-help`} className={classes.help}>
          {declaration.help}
        </div>
      </div>
      <div className={classes.value}>
        {rule.type === 'boolean' && (
          <Switch
            {...common}
            checked={value === true}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
        )}
        {rule.type === 'string' && !rule.enum && (
          <TextInput
            {...common}
            size="xs"
            maxLength={rule.maxLength}
            value={String(value)}
            error={settingError(rule, value)}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
        {rule.type === 'string' && rule.enum && (
          <NativeSelect
            {...common}
            size="xs"
            value={String(value)}
            data={rule.enum.map((each) => ({
              value: each,
              label: formatSetting(declaration, each),
            }))}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
        {rule.type === 'integer' && (
          <NumberInput
            {...common}
            size="xs"
            allowDecimal={false}
            thousandSeparator=" "
            suffix={SUFFIX[declaration.unit ?? 'none']}
            value={Number(value)}
            error={settingError(rule, value)}
            onChange={(next) => onChange(next === '' ? Number.NaN : Number(next))}
          />
        )}
        <div className={classes.help}>
          {needsFormattedValue(declaration, value) && (
            <span>{formatSetting(declaration, value)} · </span>
          )}
          {isDefault ? (
            'default'
          ) : (
            <>
              default: {formatSetting(declaration, rule.default)}
              {may && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={`${declaration.label}: reset to default`}
                  onClick={() => onChange(rule.default)}
                >
                  Reset
                </Button>
              )}
            </>
          )}
        </div>
      </div>
    </div>
  );
}
