// Columns of SuiteQL tables as real accounts have them. Source: test data of fivetran/dbt_netsuite_source
// (Apache-2.0), commit 8b666e7, 2025-07-07: the names alone, without custom fields of those accounts.
export const realColumns: Readonly<Record<string, string>> = {
  transaction: `closedate createddate currency duedate entity id isreversal memo posting postingperiod reversal reversaldate reversaldefer
    status trandate transactionnumber type`,
  transactionline: `actualshipdate amortizationenddate amortizationresidual amortizationsched amortizstartdate amountlinked assemblycomponent
    billeddate billingschedule billvariancestatus blandedcost bomquantity buildvariance category chargetype class cleared
    cleareddate commitinventory commitmentfirm componentyield costestimate costestimaterate costestimatetype createdfrom createdpo
    creditforeignamount debitforeignamount department documentnumber donotdisplayline dropship eliminate entity estgrossprofit
    estgrossprofitpercent estimatedamount expectedreceiptdate expectedshipdate expenseaccount foreignamount foreignamountpaid
    foreignamountunpaid foreignpaymentamountunused foreignpaymentamountused fulfillable fxamountlinked hasfulfillableitems id
    inventoryreportinglocation isbillable isclosed iscogs isfullyshipped isfxvariance isinventoryaffecting isrevrectransaction
    isscrap item itemsource itemtype kitcomponent kitmemberof landedcostcategory landedcostperline linelastmodifieddate
    linesequencenumber location mainline matchbilltoreceipt memo netamount oldcommitmentfirm operationdisplaytext orderpriority
    paymentmethod price processedbyrevcommit quantity quantitybackordered quantitybilled quantitycommitted quantitypacked
    quantitypicked quantityrejected quantityshiprecv rate rateamount ratepercent requestnote revenueelement shipmethod specialorder
    subsidiary taxline transaction transactiondiscount transactionlinetype transferorderitemlineid uniquekey units vsoeisestimate`,
  transactionaccountingline: `account accountingbook amount amountlinked amountpaid amountunpaid credit debit exchangerate netamount overheadparentitem
    paymentamountunused paymentamountused posting transaction transactionline`,
  account: `accountsearchdisplayname accountsearchdisplaynamecopy acctnumber accttype billableexpensesacct cashflowrate category1099misc
    class currency deferralacct department description displaynamewithhierarchy eliminate externalid fullname generalrate id
    includechildren inventory isinactive issummary lastmodifieddate location parent reconcilewithmatching revalue sbankname
    sbankroutingnumber sspecacct subsidiary`,
  accounttype: `balancesheet defaultcashflowratetype defaultgeneralratetype eliminationalgo id includeinrevaldefault internalid left longname
    seqnum usercanchangerevaloption`,
  accountingperiod: `alllocked allownonglchanges aplocked arlocked closed closedondate enddate id isadjust isinactive isposting isquarter isyear
    lastmodifieddate parent periodname startdate`,
  accountingbook: `basebook effectiveperiod externalid id isadjustmentonly isconsolidated isprimary lastmodifieddate name subsidiariesstring`,
  subsidiary: `country currency dropdownstate edition email externalid fax federalidnumber fiscalcalendar fullname id iselimination isinactive
    languagelocale lastmodifieddate legalname mainaddress name parent purchaseorderamount purchaseorderquantity
    purchaseorderquantitydiff receiptamount receiptquantity receiptquantitydiff returnaddress shippingaddress showsubsidiaryname
    ssnortin state state1taxnumber tranprefix url`,
  currency: `currencyprecision displaysymbol exchangerate externalid fxrateupdatetimezone id includeinfxrateupdates isbasecurrency isinactive
    lastmodifieddate name overridecurrencyformat symbol symbolplacement`,
  consolidatedexchangerate: `accountingbook averagerate currentrate externalid fromcurrency fromsubsidiary historicalrate id postingperiod tocurrency
    tosubsidiary`,
  department: `externalid fullname id includechildren isinactive lastmodifieddate name parent subsidiary`,
  classification: `externalid fullname id includechildren isinactive lastmodifieddate name parent subsidiary`,
  location: `defaultallocationpriority externalid fullname id includeinsupplyplanning isinactive lastmodifieddate latitude locationtype
    longitude mainaddress makeinventoryavailable makeinventoryavailablestore name parent returnaddress subsidiary tranprefix usebins`,
};
