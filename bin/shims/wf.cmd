@node "%~dp0..\wf.js" %*
