@node "%~dp0..\kb.js" %*
