export const skillToolNames = { activate: 'activate_skill', read: 'read_skill_file', run: 'run_skill_script' } as const
