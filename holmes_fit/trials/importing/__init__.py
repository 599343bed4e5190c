"""Importing: raw files of jsPsych, PsychoPy, Gorilla, lab.js, BIDS or a spreadsheet become one tidy table of trials.

``files`` opens what is given, ``recognise`` says which program wrote it, one module a program knows its layout,
``reading`` puts the people together and numbers their trials. All cells stay text; a protocol gives them their meaning.
"""
