import { defineTool } from 'toolloop'

const date = { type: 'string', format: 'date', description: 'As 2030-12-31.' } as const

export const daysUntil = defineTool({
  name: 'days_until',
  description: 'How many days there are from today to a date.',
  parameters: { type: 'object', properties: { date }, required: ['date'] },
  // It changes nothing, so it may run in parallel with other calls, and be repeated.
  effect: 'read',
  execute: ({ date }) => Math.ceil((Date.parse(date) - Date.now()) / 86_400_000),
})

const reminders: string[] = []

export const addReminder = defineTool({
  name: 'add_reminder',
  description: 'Adds a reminder for a date.',
  parameters: { type: 'object', properties: { date, text: { type: 'string' } }, required: ['date', 'text'] },
  approval: true,
  execute: ({ date, text }) => reminders.push(`${date}: ${text}`),
})

export const tools = [daysUntil, addReminder]
