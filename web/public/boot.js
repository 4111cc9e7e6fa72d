// Before the first paint, so that nothing flashes: the theme that was chosen in this browser.
try {
  const theme = localStorage.getItem("rota.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing follows the system.
}
