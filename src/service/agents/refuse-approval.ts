import type { ApprovalDecision } from '../../agent/types/options.ts'

/** The `approve` function of runs whose client can't be asked, because OpenAI's APIs and MCP have no approvals. */
export function refuseApproval(): ApprovalDecision {
  return { approved: false, reason: 'this call needs an approval, which cannot be given here' }
}
