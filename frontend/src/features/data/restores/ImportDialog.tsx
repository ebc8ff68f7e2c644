/** Wizard that imports RDB files into a database: source, files, inspection, confirmation. */
import { Alert, Button, Group, Modal, NativeSelect, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { restoresQuery, startImport } from '@/api/data/restores';
import type { Bdb } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { plural } from '@/lib/format';
import { ConfirmationField } from '@/ui/forms/ConfirmByTyping';
import { PemField } from '@/ui/forms/PemField';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { type Form, useForm } from '@/ui/forms/useForm';
import { textAtField, useSubmit } from '@/ui/forms/useSubmit';
import classes from '../data.module.css';
import { LocationFields } from '../locations/LocationFields';
import { credentialsError } from '../locations/locationForm';
import { IMPORT_CHOICES, type LocationTypeName, locationType } from '../locations/locationTypes';
import { CheckStep } from './CheckStep';
import {
  CHECK,
  FILES,
  filesError,
  type ImportValues,
  importedFiles,
  importRequest,
  inspectRequest,
  isStepComplete,
  isUpload,
  isUrl,
  keyError,
  NEW_IMPORT,
  STEPS,
  withSourceType,
} from './importForm';
import { UploadFiles } from './UploadFiles';
import { useInspection } from './useInspection';
import { type Uploads, useUploads } from './useUploads';

interface Props {
  bdb: Bdb;
  onClose: () => void;
}

const LAST = STEPS.length - 1;
const KEY_FIELD = 'identities';

export function ImportDialog({ bdb, onClose }: Props) {
  const form = useForm(NEW_IMPORT);
  const [step, setStep] = useState(0);
  const inspection = useInspection(bdb.uid);
  const invalidateAfter = useInvalidateAfter(restoresQuery);
  const uploads = useUploads(bdb, (complete) => form.set({ uploads: complete }));
  const { submit, busy, failure, clear } = useSubmit(async () => {
    if (step === FILES) {
      form.set({ acceptLosses: false, force: false });
      await inspection.start(inspectRequest(form.values));
      setStep(CHECK);
    } else if (inspection.uid !== undefined) {
      await invalidateAfter(startImport(bdb.uid, importRequest(form.values, inspection.uid)));
      uploads.keep();
      onClose();
    }
  });
  const wrongKey = keyError(inspection.report);
  useEffect(() => {
    if (wrongKey) setStep(FILES);
  }, [wrongKey]);
  const goTo = (next: number) => {
    clear();
    if (next <= FILES) inspection.clear();
    setStep(next);
  };
  const close = () => {
    inspection.cancel();
    onClose();
  };
  const complete = isStepComplete(form.values, step, bdb, inspection.report);
  const next = (event: FormEvent) => {
    event.preventDefault();
    if (!complete) return;
    if (step === FILES || step === LAST) submit();
    else goTo(step + 1);
  };
  return (
    <Modal opened onClose={close} title={`Import into ${bdb.name}`} centered size="lg">
      <form onSubmit={next} noValidate>
        <Stack gap="sm">
          <ol className={classes.steps} aria-label="Steps">
            {STEPS.map((label, index) => (
              <li key={label} aria-current={index === step ? 'step' : undefined}>
                {label}
              </li>
            ))}
          </ol>
          {step === 0 && <SourceStep form={form} uploads={uploads} />}
          {step === FILES && (
            <FilesStep
              form={form}
              keyError={failure?.field === KEY_FIELD ? textAtField(failure) : wrongKey}
            />
          )}
          {step === CHECK && <CheckStep form={form} bdb={bdb} inspection={inspection} />}
          {step === LAST && <ConfirmStep form={form} bdb={bdb} />}
          <RequestError failure={failure?.field === KEY_FIELD ? undefined : failure} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={step ? () => goTo(step - 1) : close}>
              {step ? 'Back' : 'Cancel'}
            </Button>
            {step < LAST ? (
              <SubmitButton type="submit" loading={busy} disabled={!complete}>
                Next
              </SubmitButton>
            ) : (
              <SubmitButton type="submit" color="red.9" loading={busy} disabled={!complete}>
                Erase and import
              </SubmitButton>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface StepProps {
  form: Form<ImportValues>;
}

function SourceStep({ form, uploads }: StepProps & { uploads: Uploads }) {
  const { source } = form.values;
  const missing = Object.keys(source.fields).length > 0 && credentialsError(source, false);
  return (
    <>
      <NativeSelect
        label="Source"
        description={locationType(source.type)?.help}
        data-autofocus
        value={source.type}
        onChange={(event) =>
          form.set({
            ...withSourceType(event.currentTarget.value as LocationTypeName),
            uploads: form.values.uploads,
          })
        }
        data={IMPORT_CHOICES}
      />
      {isUpload(form.values) ? (
        <UploadFiles uploads={uploads} />
      ) : (
        <LocationFields values={source} onChange={(values) => form.set({ source: values })} />
      )}
      {missing && <span className="dim">{missing}</span>}
    </>
  );
}

function FilesStep({ form, keyError }: StepProps & { keyError: string | undefined }) {
  return (
    <>
      {isUpload(form.values) ? (
        <span>Uploaded files: {importedFiles(form.values).join(', ')}</span>
      ) : isUrl(form.values) ? (
        <span>The URL names one file: {importedFiles(form.values)[0]}</span>
      ) : (
        <Textarea
          label="Files"
          description="One path per line, relative to the location. List the files of all shards of the source database."
          required
          autosize
          minRows={3}
          maxRows={10}
          spellCheck={false}
          data-autofocus
          placeholder={'dump-0.rdb\ndump-1.rdb.gz'}
          error={filesError(form.values)}
          {...form.text('files')}
        />
      )}
      <PemField
        label="Private key"
        description="Only for files that are encrypted in the age format. It is deleted when the import ends."
        error={keyError}
        {...form.value('identities')}
      />
      <Alert color="blue" title="Before you import">
        <ul className={classes.notes}>
          <li>
            Files are RDB files of Redis or Valkey. They can be compressed with gzip or Zstandard,
            and encrypted in the age format.
          </li>
          <li>
            The next step reads the files completely, and shows which keys cannot be imported and
            how much memory the others need. The database is not changed.
          </li>
          <li>
            The files can come from any number of shards. Each key is written to the shard that owns
            its hash slot.
          </li>
        </ul>
      </Alert>
    </>
  );
}

function ConfirmStep({ form, bdb }: StepProps & { bdb: Bdb }) {
  const files = importedFiles(form.values);
  return (
    <>
      <span>
        All keys of {bdb.name} are deleted. Then the keys of {plural(files.length, 'file')} are
        imported. This cannot be undone.
      </span>
      <ul className={classes.notes}>
        {files.map((file) => (
          <li key={file}>{file}</li>
        ))}
      </ul>
      <ConfirmationField phrase={bdb.name} {...form.value('confirmation')} />
    </>
  );
}
