/** Library of scenarios as cards, and the dialog that starts one. */
import { Alert, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { scenariosQuery } from '@/api/scenarios';
import type { ScenarioRun } from '@/api/types';
import { EmptyState } from '@/ui/EmptyState';
import { ScenarioCard } from './ScenarioCard';
import { StartScenario } from './StartScenario';
import classes from './scenarios.module.css';

const SKELETONS = 4;

export function ScenarioLibrary({ onStarted }: { onStarted: (run: ScenarioRun) => void }) {
  const { data: scenarios, error } = useQuery(scenariosQuery);
  const [selected, setSelected] = useState<string>();
  const scenario = scenarios?.find(({ name }) => name === selected);
  if (!scenarios && error) return <Alert color="red">{messageOf(error)}</Alert>;
  if (scenarios?.length === 0) {
    return (
      <EmptyState title="The library is empty">
        Reinstall the console, because its package contains no scenarios.
      </EmptyState>
    );
  }
  return (
    <div className={classes.library} aria-busy={!scenarios}>
      {scenarios?.map((entry) => (
        <ScenarioCard key={entry.name} scenario={entry} onRun={() => setSelected(entry.name)} />
      ))}
      {!scenarios &&
        Array.from({ length: SKELETONS }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
          <Skeleton key={index} height={320} />
        ))}
      {scenario && (
        <StartScenario
          scenario={scenario}
          onStarted={onStarted}
          onClose={() => setSelected(undefined)}
        />
      )}
    </div>
  );
}
