/** Dialog for the prices of RAM, flash, and nodes. */
import { NumberInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { costModelQuery, setCostModel } from '@/api/costModel';
import type { CostModel } from '@/api/types';
import { FormDialog } from '@/ui/forms/FormDialog';
import { useForm } from '@/ui/forms/useForm';

const PRICES = [
  ['ram_gb', 'Price per GB of RAM'],
  ['flash_gb', 'Price per GB of flash'],
  ['node', 'Price per node, without RAM and flash for data'],
] as const;

export function CostDialog({ onClose }: { onClose: () => void }) {
  const { data } = useQuery(costModelQuery);
  return data ? <PriceForm stored={data.prices} onClose={onClose} /> : null;
}

interface FormProps {
  stored: CostModel | null;
  onClose: () => void;
}

function PriceForm({ stored, onClose }: FormProps) {
  const client = useQueryClient();
  const form = useForm<Record<keyof CostModel, number | string>>(
    stored ?? { currency: 'EUR per month', ram_gb: '', flash_gb: '', node: '' },
  );
  const { currency, ...prices } = form.values;
  const isComplete =
    String(currency).trim() !== '' && Object.values(prices).every((price) => price !== '');
  const request = isComplete
    ? ({
        currency: String(currency).trim(),
        ram_gb: Number(prices.ram_gb),
        flash_gb: Number(prices.flash_gb),
        node: Number(prices.node),
      } satisfies CostModel)
    : undefined;
  return (
    <FormDialog
      title="Prices"
      request={request}
      onSubmit={async (values) => {
        client.setQueryData(costModelQuery.queryKey, await setCostModel(values));
        await client.invalidateQueries({ queryKey: ['ram-curve'] });
      }}
      onClose={onClose}
    >
      {(fieldError) => (
        <>
          <TextInput
            label="Currency"
            description="Text that is displayed with amounts. All prices are for the same period."
            maxLength={32}
            value={String(currency)}
            onChange={({ currentTarget }) => form.set({ currency: currentTarget.value })}
            error={fieldError('currency')}
          />
          {PRICES.map(([name, label]) => (
            <NumberInput
              key={name}
              label={label}
              min={0}
              decimalScale={6}
              {...form.value(name)}
              error={fieldError(name)}
            />
          ))}
        </>
      )}
    </FormDialog>
  );
}
