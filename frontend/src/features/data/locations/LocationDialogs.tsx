/** Dialogs to add, edit, test and delete a storage location. */
import { Button, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { backupsQuery } from '@/api/data/backups';
import {
  changeLocation,
  createLocation,
  deleteLocation,
  locationsQuery,
  testLocation,
  testNewLocation,
} from '@/api/data/locations';
import type { BackupLocation } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { EncryptionFields } from './EncryptionFields';
import { encryptionRequest, encryptionValues, NO_ENCRYPTION } from './encryptionForm';
import { LocationFields } from './LocationFields';
import { LocationTest } from './LocationTest';
import {
  credentialsError,
  EMPTY_LOCATION,
  isComplete,
  keepsSecrets,
  locationRequest,
  locationSettings,
  locationValues,
  placeText,
} from './locationForm';
import { LOCATION_CHOICES, type LocationTypeName, locationType } from './locationTypes';

interface CloseProps {
  onClose: () => void;
}

interface LocationProps extends CloseProps {
  location: BackupLocation;
}

export function AddLocation({ onClose }: CloseProps) {
  const [name, setName] = useState('');
  const [values, setValues] = useState(EMPTY_LOCATION);
  const [encryption, setEncryption] = useState(NO_ENCRYPTION);
  const invalidateAfter = useInvalidateAfter(locationsQuery, backupsQuery);
  return (
    <FormDialog
      title="Add location"
      action="Add location"
      request={combined(locationRequest(name, values), encryptionRequest(encryption))}
      onSubmit={(request) => invalidateAfter(createLocation(request))}
      onClose={onClose}
    >
      <NativeSelect
        label="Type"
        description={locationType(values.type)?.help}
        value={values.type}
        onChange={(event) =>
          setValues({ type: event.currentTarget.value as LocationTypeName, fields: {} })
        }
        data={LOCATION_CHOICES}
      />
      <NameField value={name} onChange={setName} />
      <LocationFields values={values} onChange={setValues} />
      <Hint
        text={Object.keys(values.fields).length ? credentialsError(values, false) : undefined}
      />
      <EncryptionFields values={encryption} onChange={setEncryption} />
      <LocationTest
        key={JSON.stringify(values)}
        disabled={!isComplete(values)}
        onTest={() => testNewLocation(locationSettings(values))}
      />
    </FormDialog>
  );
}

export function EditLocation({ location, onClose }: LocationProps) {
  const [name, setName] = useState(location.name);
  const [values, setValues] = useState(() => locationValues(location));
  const [encryption, setEncryption] = useState(() => encryptionValues(location));
  const invalidateAfter = useInvalidateAfter(locationsQuery, backupsQuery);
  const isKept = keepsSecrets(values, location);
  return (
    <FormDialog
      title={`Edit location ${location.name}`}
      request={combined(locationRequest(name, values, isKept), encryptionRequest(encryption))}
      onSubmit={(request) => invalidateAfter(changeLocation(location.uid, request))}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <LocationFields values={values} onChange={setValues} keepsSecrets={isKept} />
      <Hint text={credentialsError(values, isKept)} />
      <EncryptionFields
        values={encryption}
        onChange={setEncryption}
        storedKeys={location.stored_keys}
      />
    </FormDialog>
  );
}

/** Test of a stored location. Its secrets are known only to the console, so the form cannot test it. */
export function TestLocation({ location, onClose }: LocationProps) {
  return (
    <Modal opened onClose={onClose} title={`Test location ${location.name}`} centered>
      <Stack gap="sm">
        <span>
          A node writes, reads, lists, and deletes a small file in{' '}
          {placeText(location.location) || 'the location'}.
        </span>
        <LocationTest onTest={() => testLocation(location.uid)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

export function DeleteLocation({ location, onClose }: LocationProps) {
  const invalidateAfter = useInvalidateAfter(locationsQuery);
  return (
    <SubmitDialog
      title={`Delete location ${location.name}?`}
      action="Delete location"
      severe
      onConfirm={() => invalidateAfter(deleteLocation(location.uid))}
      onClose={onClose}
    >
      <span>
        The console deletes the settings and credentials of this location. Files in it are kept.
      </span>
    </SubmitDialog>
  );
}

/** Return the request of both parts of the form; undefined while one is incomplete. */
const combined = <A, B>(settings: A | undefined, encryption: B | undefined): (A & B) | undefined =>
  settings && encryption && { ...settings, ...encryption };

function NameField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      label="Name"
      required
      maxLength={120}
      data-autofocus
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function Hint({ text }: { text: string | undefined }) {
  return text ? <span className="dim">{text}</span> : null;
}
