/** Input of a zone, which suggests the zones of other nodes. */
import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { nodesQuery, zoneError, zonesOf } from '@/api/cluster/nodes';

interface Props {
  label: string;
  description: string;
  required?: boolean;
  zone: string;
  onChange: (zone: string) => void;
}

export function ZoneInput({ label, description, required = false, zone, onChange }: Props) {
  const list = useId();
  const zones = zonesOf(useQuery(nodesQuery).data ?? []);
  return (
    <>
      <TextInput
        label={label}
        description={description}
        required={required}
        value={zone}
        error={zoneError(zone)}
        list={list}
        onChange={(event) => onChange(event.currentTarget.value)}
        autoComplete="off"
      />
      <datalist id={list}>
        {zones.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
