import { HttpProblem } from '../http/problem.ts'
import type { Route } from '../http/route.ts'
import type { ServiceParts } from '../service-parts.ts'
import { sessionSchema, signInSchema } from './admin-schemas.ts'

/** The routes that sign a browser in to the admin page with a link, and out again. */
export function signInRoutes({ signIns, logger }: ServiceParts): Route[] {
  return [
    {
      method: 'POST',
      path: '/admin/api/sign-in',
      access: 'open',
      summary:
        'Exchanges the code of a sign-in link, once, for a token of a session. To look at a link does not use it up. A session whose token the request has is ended.',
      body: signInSchema,
      responses: {
        200: { description: 'The session', schema: sessionSchema },
        403: { description: 'The code is unknown, was used, or is more than 10 minutes old' },
      },
      answer: ({ body, request, sender }) => {
        const { code } = body as { code: string }
        try {
          const { token, caller, until } = signIns.redeem(code, sender.address)
          // The earlier session of the browser is ended, because it would otherwise stay valid.
          signIns.end(request)
          logger.info({ ...sender, caller: caller.name }, 'a browser was signed in by a link')
          return Response.json({ token, ...caller, expiresAt: new Date(until).toISOString() })
        } catch (error) {
          if (error instanceof HttpProblem && error.status === 403) logger.warn({ ...sender }, 'a sign-in link was refused')
          throw error
        }
      },
    },
    {
      method: 'DELETE',
      path: '/admin/api/session',
      access: 'admin',
      forTenants: true,
      summary: 'Signs out: ends the session whose token the request has. Tokens of the configuration stay as they are.',
      responses: { 204: { description: 'Signed out' } },
      answer: ({ request, sender }) => {
        signIns.end(request)
        logger.info({ ...sender }, 'a browser was signed out')
        return new Response(null, { status: 204 })
      },
    },
  ]
}
