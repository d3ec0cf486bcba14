// Inline styles that all parts of a mail share.
export const font = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
export const wrap = 'overflow-wrap:anywhere;word-break:break-word';
