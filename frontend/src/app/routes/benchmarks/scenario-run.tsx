/** Page of a scenario run. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ScenarioRunView } from '@/features/benchmarks/scenarios/ScenarioRunView';

export function ScenarioRunPage() {
  const { uid } = useParams({ from: '/shell/benchmarks/scenarios/$uid' });
  const { baseline } = useSearch({ from: '/shell/benchmarks/scenarios/$uid' });
  const navigate = useNavigate();
  return (
    <ScenarioRunView
      key={uid}
      uid={Number(uid)}
      baseline={baseline}
      onBaseline={(selected) =>
        navigate({
          to: '/benchmarks/scenarios/$uid',
          params: { uid },
          search: { baseline: selected },
          replace: true,
        })
      }
      onStarted={(run) =>
        navigate({ to: '/benchmarks/scenarios/$uid', params: { uid: String(run.uid) } })
      }
      onDeleted={() => navigate({ to: '/benchmarks/scenarios' })}
    />
  );
}
