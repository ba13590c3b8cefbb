/**
 * What the service sends, as far as the page reads it; /openapi.json has all of it.
 *
 * @typedef {{ inputTokens: number, outputTokens: number, totalTokens: number, costUsd?: number }} Usage
 *
 * @typedef {object} Pending
 * @property {'approval' | 'client_tool' | 'question' | 'budget'} kind
 * @property {string} toolCallId
 * @property {string} tool
 * @property {Record<string, unknown>} args
 * @property {unknown} [about]
 * @property {Record<string, any>} [schema] Of the answer to a question.
 * @property {string} fingerprint
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {'running' | 'paused' | 'done'} status
 * @property {'run' | 'chat'} kind
 * @property {string} model
 * @property {string} owner
 * @property {string} input
 * @property {string} createdAt
 * @property {string} [finishedAt]
 * @property {string} [stopReason]
 * @property {string} [output]
 * @property {Usage} [usage]
 * @property {number} [iterations]
 * @property {number} [toolCalls]
 * @property {string[]} [tools]
 * @property {{ code: string, message: string }} [error]
 * @property {Pending[]} pending
 * @property {Decision[]} [decisions] Not in lists.
 *
 * @typedef {object} Decision
 * @property {string} at
 * @property {string} by
 * @property {string} kind
 * @property {string} tool
 * @property {string} toolCallId
 * @property {string[]} [agents]
 * @property {'approved' | 'edited' | 'rejected' | 'answered' | 'result'} verdict
 * @property {unknown} [args]
 * @property {unknown} [edited]
 * @property {unknown} [about]
 * @property {string} [reason]
 * @property {unknown} [answer]
 * @property {unknown} [result]
 *
 * @typedef {object} Tool
 * @property {{ name: string, description: string, parameters: Record<string, any> }} function
 * @property {'read' | 'idempotent' | 'unsafe'} effect
 * @property {'never' | 'always' | 'depends'} approval
 *
 * @typedef {object} PastCall
 * @property {string} at
 * @property {string} outcome
 * @property {number} durationMs
 * @property {string} [errorCode]
 * @property {string} [runId] Absent: the tool was tried.
 *
 * @typedef {Tool & ToolState} ToolWithCalls
 * @typedef {object} ToolState
 * @property {{ kind: 'registered' | 'builtin' | 'skill' | 'mcp' | 'openapi', name?: string }} source
 * @property {boolean} runsHere
 * @property {{ total: number, failed: number, recent: PastCall[] }} calls
 *
 * @typedef {{ name: string, state: string, problem?: string }} McpServer
 *
 * @typedef {{ runs: number, failed: number, inputTokens: number, outputTokens: number, costUsd: number, p50Ms: number | null, p95Ms: number | null }} Sums
 * @typedef {Sums & OverviewFields} Overview
 * @typedef {object} OverviewFields
 * @property {string} from
 * @property {string} since Later than `from`: there was too much to count.
 * @property {number} stepMs
 * @property {Sums[]} series
 * @property {{ stopReason: string, errorCode?: string, runs: number }[]} reasons
 * @property {{ tool: string, runs: number }[]} tools
 * @property {number} running
 * @property {number} waiting
 *
 * @typedef {object} ConfigState
 * @property {string | null} file
 * @property {string} loadedAt
 * @property {number} reloads
 * @property {{ at: string, problems: import('./data/api.js').Problem[] } | null} lastError
 * @property {string[]} needsRestart Fields, as JSON Pointers.
 *
 * @typedef {object} Provider
 * @property {string} name
 * @property {string | null} keyEnv The variable its key is looked for in.
 * @property {boolean | null} hasKey Null: it needs none.
 *
 * @typedef {object} Skill
 * @property {string} name
 * @property {string} description
 * @property {'configured' | 'project' | 'user'} source
 * @property {string} folder
 * @property {string[]} allowedTools
 * @property {string[]} tools
 * @property {string[]} scripts
 * @property {string} instructions
 *
 * @typedef {object} ServiceState
 * @property {string} version
 * @property {string} startedAt
 * @property {boolean} draining
 * @property {ConfigState} config
 * @property {{ name: string, provider: string, model: string }[]} models
 * @property {Provider[]} providers
 * @property {Tool[]} tools
 * @property {number} waiting How many runs wait for somebody.
 *
 * @typedef {object} View
 * @property {HTMLElement} element Its first heading gets the focus.
 * @property {string} title
 * @property {() => void} [close] Called when another view takes its place.
 */
export {}
