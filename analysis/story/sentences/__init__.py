"""The sentences of incidents: ``incidents`` joins the words that the other modules have for each part."""
