/** API of the prices with which the cost of RAM and flash is computed. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from './http';
import type { CostModel, CostModelSetting } from './types';

const PATH = '/v1/benchmarks/cost_model';

export const costModelQuery = queryOptions({
  queryKey: ['cost-model'],
  queryFn: getQuery<CostModelSetting>(PATH),
});

export const setCostModel = (prices: CostModel) => request<CostModelSetting>('PUT', PATH, prices);
