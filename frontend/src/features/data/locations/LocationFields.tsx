/** Fields of a storage location, as its type declares them. */
import { NativeSelect, Switch, TextInput } from '@mantine/core';
import { MoreFields } from '@/ui/forms/MoreFields';
import { PemField } from '@/ui/forms/PemField';
import { SecretField } from '@/ui/forms/SecretField';
import { fieldError, type LocationValues } from './locationForm';
import { type LocationField, locationType } from './locationTypes';

interface Props {
  values: LocationValues;
  onChange: (values: LocationValues) => void;
  /** Whether empty secrets keep the stored ones. */
  keepsSecrets?: boolean;
}

export function LocationFields({ values, onChange, keepsSecrets = false }: Props) {
  const fields = locationType(values.type)?.fields ?? [];
  const render = (field: LocationField) => (
    <Field
      key={field.name}
      field={field}
      value={values.fields[field.name]}
      error={fieldError(values, field.name)}
      isKept={keepsSecrets}
      onChange={(value) =>
        onChange({ ...values, fields: { ...values.fields, [field.name]: value } })
      }
    />
  );
  const rare = fields.filter(({ isRare }) => isRare);
  return (
    <>
      {fields.filter(({ isRare }) => !isRare).map(render)}
      {rare.length > 0 && <MoreFields summary="More settings">{rare.map(render)}</MoreFields>}
    </>
  );
}

interface FieldProps {
  field: LocationField;
  value: string | boolean | undefined;
  error: string | undefined;
  isKept: boolean;
  onChange: (value: string | boolean) => void;
}

function Field({ field, value, error, isKept, onChange }: FieldProps) {
  const { label, description, placeholder, required, kind } = field;
  const text = typeof value === 'string' ? value : '';
  if (kind === 'switch')
    return (
      <Switch
        label={label}
        description={description}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (kind === 'pem' || kind === 'key')
    return (
      <PemField
        label={label}
        description={
          kind === 'key' && isKept ? 'If empty, the current key is kept' : (description ?? '')
        }
        value={text}
        onChange={onChange}
      />
    );
  const input = {
    label,
    description,
    value: text,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  if (kind === 'choice') return <NativeSelect {...input} data={[...(field.choices ?? [])]} />;
  if (kind === 'secret')
    return (
      <SecretField
        {...input}
        noun={field.name === 'password' ? 'password' : 'secret'}
        isKept={isKept}
        placeholder={isKept ? 'Unchanged' : ''}
        autoComplete="new-password"
        maxLength={16_384}
      />
    );
  return (
    <TextInput
      {...input}
      required={required ?? false}
      placeholder={placeholder ?? ''}
      error={error}
      maxLength={2_048}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
