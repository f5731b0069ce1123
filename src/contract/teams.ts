import { Type } from 'typebox';
import { nullable, operation, Timestamp, text, Uuid } from './operation.ts';

export const Team = Type.Object({
  id: Uuid,
  name: Type.String(),
  slug: Type.String(),
  cost_center: nullable(Type.String()),
  created_at: Timestamp,
});

const Slug = Type.String({
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  maxLength: 64,
  description: 'a-z, 0-9 and single dashes',
});

export const teamsOperations = {
  createTeam: operation({
    method: 'POST',
    path: '/v1/teams',
    auth: 'tenant',
    tag: 'Teams',
    summary: 'Create a team; the slug is derived from the name when omitted',
    body: Type.Object({
      name: text({ 'x-missing': 'name_required', 'x-invalid': 'name_required' }),
      slug: Type.Optional(Slug),
      cost_center: Type.Optional(nullable(text())),
    }),
    success: 201,
    response: Team,
    refusals: ['name_required', 'conflict'],
  }),
  listTeams: operation({
    method: 'GET',
    path: '/v1/teams',
    auth: 'tenant',
    tag: 'Teams',
    summary: 'All teams',
    success: 200,
    response: Type.Array(Team),
  }),
  getTeam: operation({
    method: 'GET',
    path: '/v1/teams/{id}',
    auth: 'tenant',
    tag: 'Teams',
    summary: 'One team',
    success: 200,
    response: Team,
  }),
  updateTeam: operation({
    method: 'PUT',
    path: '/v1/teams/{id}',
    auth: 'tenant',
    tag: 'Teams',
    summary: 'Rename a team or change its slug or cost center',
    body: Type.Object({
      name: Type.Optional(text({ 'x-invalid': 'name_required' })),
      slug: Type.Optional(Slug),
      cost_center: Type.Optional(nullable(text())),
    }),
    success: 200,
    response: Team,
    refusals: ['conflict'],
  }),
  deleteTeam: operation({
    method: 'DELETE',
    path: '/v1/teams/{id}',
    auth: 'tenant',
    tag: 'Teams',
    summary: 'Delete a team; what it spent stays in the records',
    success: 204,
    response: null,
  }),
};
