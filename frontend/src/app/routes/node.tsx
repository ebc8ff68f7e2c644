/** Page of a node: charts, shards, facts. */
import { Menu } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useNode } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { useCanStartDrill } from '@/api/failures/drills';
import { messageOf } from '@/api/http';
import { RunningActions } from '@/features/actions/RunningActions';
import { NodeAlarms } from '@/features/alarms/NodeAlarms';
import { DrillDialog } from '@/features/drills/DrillDialog';
import { NodeCharts } from '@/features/metrics/NodeCharts';
import { HostChecks } from '@/features/nodes/HostChecks';
import { NodeFacts } from '@/features/nodes/NodeFacts';
import { NodeMenu } from '@/features/nodes/NodeMenu';
import { NodeShards } from '@/features/nodes/NodeShards';
import { StateText } from '@/features/nodes/StateText';
import { nodeState } from '@/features/nodes/status';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { Status } from '@/ui/Status';
import classes from './pages.module.css';

export function NodePage() {
  const { uid } = useParams({ from: '/shell/nodes/$uid' });
  const { data: node, error } = useNode(Number(uid));
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const navigate = useNavigate();
  const [isDrillOpen, setDrillOpen] = useState(false);
  const mayDrill = useCanStartDrill();
  if (error && node === undefined)
    return <EmptyState title="The node could not be loaded">{messageOf(error)}</EmptyState>;
  if (node === undefined) return <PageSkeleton />;
  if (node === null) {
    return (
      <EmptyState title={`Node ${uid} does not exist`}>
        <Link to="/nodes">All nodes</Link>
      </EmptyState>
    );
  }
  const { tone } = nodeState(node);
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Node {node.uid}</h1>
        <Status chip tone={tone}>
          <StateText node={node} />
        </Status>
        <span className="dim">
          {[node.addr, node.hostname, node.agent_version && `agent ${node.agent_version}`]
            .filter(Boolean)
            .join(' · ')}
        </span>
        <NodeMenu node={node}>
          {mayDrill && (
            <Menu.Item
              leftSection={<IconFlask size={15} />}
              disabled={node.agent_status !== 'connected' || node.status === 'down'}
              onClick={() => setDrillOpen(true)}
            >
              Drill…
            </Menu.Item>
          )}
        </NodeMenu>
      </div>
      <NodeAlarms node={node.uid} />
      <RunningActions type="node" uid={node.uid} />
      {isDrillOpen && (
        <DrillDialog
          node={node.uid}
          onClose={() => setDrillOpen(false)}
          onStarted={() => navigate({ to: '/activity/timeline', search: { range: 60 } })}
        />
      )}
      <NodeCharts node={node} bdbs={bdbs ?? []} />
      <Card title="Shards" flush>
        <NodeShards nodeUid={node.uid} bdbs={bdbs ?? []} />
      </Card>
      <NodeFacts node={node} />
      <HostChecks node={node.uid} />
    </div>
  );
}
