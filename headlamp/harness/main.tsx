/**
 * Headlamp's frontend around the plugin, without Headlamp's server: its store, theme, sidebar and router come from the
 * package of plugins, which has all of the frontend but the layout of the window.
 */
import '@kinvolk/headlamp-plugin/lib/i18n/config';
import '@kinvolk/headlamp-plugin/lib/plugin';
import RouteSwitcher from '@kinvolk/headlamp-plugin/lib/components/App/RouteSwitcher';
import { useCurrentAppTheme } from '@kinvolk/headlamp-plugin/lib/components/App/themeSlice';
import { ActivitiesRenderer } from '@kinvolk/headlamp-plugin/lib/components/activity/Activity';
import Sidebar from '@kinvolk/headlamp-plugin/lib/components/Sidebar';
import i18n from '@kinvolk/headlamp-plugin/lib/i18n/config';
import { queryClient } from '@kinvolk/headlamp-plugin/lib/lib/queryClient';
import { setStore } from '@kinvolk/headlamp-plugin/lib/lib/router/createRouteURL';
import { createMuiTheme } from '@kinvolk/headlamp-plugin/lib/lib/themes';
import { setConfig } from '@kinvolk/headlamp-plugin/lib/redux/configSlice';
import store from '@kinvolk/headlamp-plugin/lib/redux/stores/store';
import { Box, CssBaseline, ThemeProvider } from '@mui/material';
import { QueryClientProvider } from '@tanstack/react-query';
import { SnackbarProvider } from 'notistack';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';
import { Provider } from 'react-redux';
import { BrowserRouter } from 'react-router-dom';

function Window() {
  return (
    <ThemeProvider theme={createMuiTheme(useCurrentAppTheme())}>
      <CssBaseline />
      <SnackbarProvider>
        <BrowserRouter>
          <Box sx={{ display: 'flex', height: '100%', position: 'relative' }}>
            <Sidebar />
            <Box sx={{ flexGrow: 1, position: 'relative', minWidth: 0 }}>
              <Box component="main" sx={{ height: '100%', overflow: 'auto', padding: 3 }}>
                <RouteSwitcher requiresToken={() => false} />
              </Box>
              <ActivitiesRenderer />
            </Box>
          </Box>
        </BrowserRouter>
      </SnackbarProvider>
    </ThemeProvider>
  );
}

setStore(store);
const cluster = { name: 'main', auth_type: '', meta_data: {} };
store.dispatch(setConfig({ clusters: { main: cluster } }));

// As Headlamp runs plugins: the bundle as it is, in the global scope.
const plugin = await fetch('/plugin.js');
new Function(await plugin.text())();

createRoot(document.getElementById('root') as HTMLElement).render(
  <Provider store={store}>
    <QueryClientProvider client={queryClient}>
      <I18nextProvider i18n={i18n}>
        <Window />
      </I18nextProvider>
    </QueryClientProvider>
  </Provider>,
);
